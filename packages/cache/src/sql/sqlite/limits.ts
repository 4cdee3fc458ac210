/** Limit of a name. SQLite has none of its own. */
export const MAX_NAME_BYTES = 1_024;
