/** Types, and the version of the library. */
export const version = 'mortise';
