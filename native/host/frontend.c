/* What the engine expects of a front end, and of the midend that the session replaces. */
#include <string.h>

#include "host/guard.h"
#include "puzzles.h"
#include "session.h"

/* The cursor is visible from the start; every other preference keeps its default. */
char *pz_getenv(const char *name)
{
    static char yes[] = "y";
    return strcmp(name, "PUZZLES_SHOW_CURSOR") ? NULL : yes;
}

/* Net's ui wants a seed for its jumble key, which no action reaches: a constant keeps sessions reproducible. */
void get_random_seed(void **seed, int *size)
{
    *seed = dupstr("puzzleport");
    *size = (int)strlen(*seed);
}

void frontend_default_colour(frontend *fe, float *output)
{
    (void)fe;
    output[0] = output[1] = output[2] = 0.9F;
}

char *midend_rewrite_statusbar(midend *me, const char *text)
{
    (void)me;
    return dupstr(text);
}

/* Mines draws its layout at the first click and then tells the midend, which is us, what the game is from now on. */
void midend_supersede_game_desc(midend *me, const char *desc, const char *privdesc)
{
    (void)me;
    pz_guard *guard = pz_current_guard();
    if (guard && guard->session) pz_supersede(guard->session, desc, privdesc);
}

/* Preset menus: Loopy and Solo build trees of them. */
struct preset_menu *preset_menu_new(void)
{
    struct preset_menu *menu = snew(struct preset_menu);
    menu->n_entries = menu->entries_size = 0;
    menu->entries = NULL;
    return menu;
}

static struct preset_menu_entry *add_entry(struct preset_menu *menu, char *title)
{
    if (menu->n_entries == menu->entries_size) {
        menu->entries_size = menu->entries_size * 2 + 8;
        menu->entries = sresize(menu->entries, menu->entries_size, struct preset_menu_entry);
    }
    struct preset_menu_entry *entry = &menu->entries[menu->n_entries++];
    memset(entry, 0, sizeof *entry);
    entry->title = title;
    return entry;
}

struct preset_menu *preset_menu_add_submenu(struct preset_menu *parent, char *title)
{
    return add_entry(parent, title)->submenu = preset_menu_new();
}

void preset_menu_add_preset(struct preset_menu *menu, char *title, game_params *params)
{
    add_entry(menu, title)->params = params;
}
