/** Of a name. SQLite has no limit of its own. */
export const MAX_NAME_BYTES = 1_024;
