/** Of a name: the server cuts longer ones off. */
export const MAX_NAME_BYTES = 63;
