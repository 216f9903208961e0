#include "puzzle.h"
#define thegame pz_game_cube
#include <cube.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->d1 * params->d2 * solids[params->solid]->nfaces;
}

static double pz_cells(const game_params *params)
{
    const double a = params->d1, b = params->d2;
    return params->solid == CUBE ? a * b : a * a + b * b + 4 * a * b;
}

/*
 * The board as rows and columns. Triangles stand half a side apart, alternately upright and on their heads; the hexagon
 * that they fill lies in the middle of the array.
 */
static int pz_rows(const game_params *params)
{
    return params->solid == CUBE ? params->d2 : params->d1 + params->d2;
}

static int pz_columns(const game_params *params)
{
    return params->solid == CUBE ? params->d1 : 2 * (params->d1 + params->d2) - 1;
}

/* Where a square of the engine's list lies in that array. */
static int pz_place(const game_params *params, const struct grid_square *square)
{
    if (params->solid == CUBE) return (int)square->y * params->d1 + (int)square->x;
    const int row = (int)(square->points[1] / (sqrt(3) / 2) + 0.25) - !square->flip;
    return row * pz_columns(params) + (int)floor(2 * square->x + 0.5) + params->d1 + params->d2 - 1;
}
