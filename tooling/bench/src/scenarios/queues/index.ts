import type { Scenario } from '../../scenario.js';
import { drain } from './drain.js';
import { enqueue } from './enqueue.js';
import { fleet } from './fleet.js';
import { killed } from './killed.js';
import { memory } from './memory.js';
import { shards } from './shards.js';
import { size } from './size.js';
import { tail } from './tail.js';
import { timing } from './timing.js';

export const queues: readonly Scenario[] = [
  ...enqueue,
  ...drain,
  ...timing,
  ...tail,
  ...fleet,
  ...memory,
  ...size,
  ...killed,
  ...shards,
];
