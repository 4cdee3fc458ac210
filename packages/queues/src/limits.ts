/** 10 years: a longer time is probably a wrong unit. */
export const MAX_DELAY_MS = 10 * 365.25 * 86_400_000;
