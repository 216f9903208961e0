#include "puzzle.h"
#define thegame pz_game_samegame
#include <samegame.c>

static const pz_action pz_actions[] = {PZ_ARROWS_ROUND, PZ_SELECT, PZ_UNDO_ACTION, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 2);
}

/* The score grows faster than the group: one group of all tiles would give the most. */
static int pz_best_score(const game_params *params)
{
    const double group = (double)params->w * params->h - params->scoresub;
    return group > 0 ? (int)min(group * group, (double)INT_MAX) : 0;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "tiles", h, w, 0, params->ncols, "colour of each tile, 0 where there is none");
    PZ_SCALAR(layout, "score", 0, pz_best_score(params), "points for the groups removed so far");
    PZ_CURSOR(layout, w, h);
    PZ_UI_GRID(layout, "selected", h, w, 0, 1, "1 on the tiles of the selected group");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    PZ_PUT(out, state->n, state->tiles[i]);
    PZ_PUT1(out, state->score);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->xsel, ui->ysel);
    PZ_PUT(out, state->n, (ui->tiles[i] & TILE_SELECTED) != 0);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->tiles, state->n);
    PZ_VISIT1(v, state->score);
    PZ_VISIT1(v, state->complete);
    PZ_VISIT1(v, state->impossible);
}

static void pz_visit_ui(game_ui *ui, const game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, ui->tiles, state->n);
    PZ_VISIT1(v, ui->nselected);
    PZ_VISIT1(v, ui->xsel);
    PZ_VISIT1(v, ui->ysel);
    PZ_VISIT1(v, ui->displaysel);
}

static void pz_copy_ui(game_ui *to, const game_ui *from, const game_state *state)
{
    int *tiles = to->tiles;
    *to = *from;
    to->tiles = tiles;
    memcpy(tiles, from->tiles, (size_t)state->n * sizeof *tiles);
}

/* The engine looks for a dead end only after a move; a random board can be one from the start. */
static bool pz_stuck(const game_state *state)
{
    const int w = state->params.w;
    for (int at = 0; at < state->n; at++) {
        const int colour = state->tiles[at];
        if (!colour) continue;
        if ((at + 1) % w && state->tiles[at + 1] == colour) return false;
        if (at + w < state->n && state->tiles[at + w] == colour) return false;
    }
    return true;
}

/* The engine's own text leaves out the selection and the score. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < state->n; at++)
        pz_print(&text, "%c%s%s", state->tiles[at] ? '0' + state->tiles[at] : '.',
                 ui->tiles[at] & TILE_SELECTED ? "*" : " ", (at + 1) % params->w ? " " : "\n");
    pz_print(&text, "score %d\n", state->score);
    return text.chars;
}

/* Tiles left; those without a neighbour of their colour count more, and the last one of a colour most. */
static int pz_distance(const game_state *state)
{
    const int w = state->params.w;
    int far = 0, count[16] = {0};
    for (int at = 0; at < state->n; at++) {
        const int colour = state->tiles[at];
        if (!colour) continue;
        count[colour]++;
        far += 2;
        if (!((at % w && state->tiles[at - 1] == colour) || ((at + 1) % w && state->tiles[at + 1] == colour) ||
              (at >= w && state->tiles[at - w] == colour) || (at + w < state->n && state->tiles[at + w] == colour)))
            far += 2;
    }
    for (int colour = 1; colour < 16; colour++) far += count[colour] == 1 ? 1000 : 0;
    return far;
}

PZ_PUZZLE(samegame,
    .title = "Same Game",
    .rules = "Coloured tiles fill a box. Tiles of one colour that touch across or down form a group, and a group of "
             "two or more can be removed; the tiles above then fall, and empty columns close up to the left. Remove "
             "all tiles. Larger groups score more. SELECT selects the group under the cursor, and a second SELECT on "
             "it removes it. The cursor leaves the box on one side and comes back on the other. UNDO takes the last "
             "removal back; when no group is left, nothing else remains.",
    .ui_size = sizeof(game_ui),
    .words = "grid tiles=#\n"
             "do remove SELECT SELECT\n"
             "idle selected\n"
             "score tiles=0",
    .actions = pz_actions,
    .easiest = "2x3c3s2",
    .human = "5x5c3s2",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(c\\d)?(s[12])?r?",
    .params_help = "WxH: width and height\n"
                   "cN: number of colours, 3 to 9, or from 2 with r\n"
                   "sN: a group of n tiles scores (n-N) squared, N is 1 or 2\n"
                   "r: random tiles, perhaps not soluble",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "tiles",
    .distance = pz_distance,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .visit_ui = pz_visit_ui,
    .copy_ui = pz_copy_ui,
    .stuck = pz_stuck,
    .text = pz_text_board,
    .overdraws_below = 4);
