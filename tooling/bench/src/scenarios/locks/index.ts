import type { Scenario } from '../../scenario.js';
import { handOff } from './hand-off.js';
import { idle } from './idle.js';
import { market } from './market.js';
import { semaphore } from './semaphore.js';
import { uncontended } from './uncontended.js';

export const locks: readonly Scenario[] = [...uncontended, ...handOff, ...idle, ...semaphore, ...market];
