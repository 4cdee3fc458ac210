/** 10 years: longer is a mistake in a unit. */
export const MAX_DELAY_MS = 10 * 365.25 * 86_400_000;
