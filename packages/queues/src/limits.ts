/** 10 years: a longer time is probably a wrong unit. */
export const MAX_DELAY_MS = 10 * 365.25 * 86_400_000;
/** Tasks in a shard without a limit of its own; as in queue.enqueue.lua and flow.open.lua. */
export const DEFAULT_MAX_TASKS = 10_000_000;
export const MAX_PRIORITIES = 16;
export const MAX_SHARDS = 64;
/** Of an event for a task. */
export const MAX_EVENT_NAME_BYTES = 256;
