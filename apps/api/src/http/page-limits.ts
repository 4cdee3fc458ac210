/** The limits of a page of a list. */
export const MAX_PAGE = 200;
export const DEFAULT_PAGE = 50;

/** The longest cursor there is: an inventory's, with two ids. */
export const MAX_CURSOR_LENGTH = 400;
