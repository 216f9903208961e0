/* The letters that the canvas writes with: a skeleton per sign, drawn with a broad pen. */
#ifndef PZ_GLYPHS_H
#define PZ_GLYPHS_H

/*
 * A path is a list of commands, each a letter and whole numbers. Coordinates are those of the pen's centre in percent
 * of the sign's own box: x from its left (0) to its right edge (100), y from the baseline (0) up to the height of
 * capitals (100); lower case reaches 72, and -28 below the line.
 *
 *     M x y           put the pen there
 *     L x y           straight line
 *     H x y, V x y    a quarter of an ellipse that leaves horizontally (H) or vertically (V)
 *     C a b c d x y   cubic curve with the control points (a, b) and (c, d)
 *     D x y           dot
 *     B y y           draw nothing below the first height and above the second: slanted ends become flat there
 *
 * Lines along an axis have square ends, all others round ones. Straight lines along an axis and the turning points of
 * quarters are moved to whole pixels; a line of no length draws nothing, but does that to a point.
 */
typedef struct pz_glyph {
    int width;          /* of the box, in percent of the height of capitals; at least the pen's breadth is taken */
    const char *path;
} pz_glyph;

enum {
    PZ_GLYPHS = 98,     /* printable ASCII, then the signs beyond it */
    PZ_FEW_ROWS = 5,    /* capitals of so many pixels or less are too small for a broad pen and for curves */
};

extern const pz_glyph pz_glyphs[PZ_GLYPHS];

/* The index of a Unicode code point in pz_glyphs, or -1. */
int pz_glyph_index(unsigned code);

/* The path to take where capitals are this many pixels high: digits of few pixels would lose their shape as curves. */
const char *pz_glyph_path(int index, int rows);

#endif
