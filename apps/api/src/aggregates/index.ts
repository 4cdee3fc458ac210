/** The daily aggregates without any framework: what the worker, tests and other programs import as `@mortise/api/aggregates`. */
export type { DailyTop, PlaceCount } from './daily-aggregates.js';
export { DailyAggregates, DEFAULT_TOP, MAX_TOP } from './daily-aggregates.js';
export { isDay } from './day.js';
export type { DayKeys, Dimension, DoneKeys } from './keys.js';
export { dayKeys, DIMENSIONS, doneKeys } from './keys.js';
export type { Place } from './place.js';
export { memberOf, partsOf, UNKNOWN } from './place.js';
