/* The drawing interface that the engine draws through. */
#ifndef PZ_DRAW_H
#define PZ_DRAW_H

#include "puzzles.h"

/* Draws nothing: for the drawstate that interpret_move measures with. */
extern const drawing_api pz_no_drawing;

/* Draws on the pz_canvas that is the drawing's handle. */
extern const drawing_api pz_drawing;

#endif
