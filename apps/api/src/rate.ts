/** A limit of requests, as settings and records write it: `600/60` is 600 requests in 60 seconds. */
export interface Rate {
  readonly requests: number;
  readonly seconds: number;
}

export const MAX_REQUESTS = 1_000_000;
export const MAX_SECONDS = 86_400;

/** Undefined for a text of another form, or numbers out of range. */
export function parseRate(text: string): Rate | undefined {
  const [, requests, seconds] = /^(\d{1,7})\/(\d{1,5})$/.exec(text)?.map(Number) ?? [];
  const isSound =
    requests !== undefined &&
    seconds !== undefined &&
    requests >= 1 &&
    requests <= MAX_REQUESTS &&
    seconds >= 1 &&
    seconds <= MAX_SECONDS;
  return isSound ? { requests, seconds } : undefined;
}

/** As `parseRate`, for a setting. Throws instead. */
export function requireRate(text: string): Rate {
  const rate = parseRate(text);
  if (!rate)
    throw new Error(
      `must be <requests>/<seconds>: 1 to ${MAX_REQUESTS} requests in 1 to ${MAX_SECONDS} s, such as 600/60`,
    );
  return rate;
}

export function formatRate({ requests, seconds }: Rate): string {
  return `${requests}/${seconds}`;
}
