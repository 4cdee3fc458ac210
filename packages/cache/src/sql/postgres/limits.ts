/** Limit of a name: the server truncates longer ones. */
export const MAX_NAME_BYTES = 63;
