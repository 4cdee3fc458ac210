import type { Scenario } from '../../scenario.js';
import { coherence } from './coherence.js';
import { get } from './get.js';
import { herd } from './herd.js';
import { million } from './million.js';
import { rows } from './rows.js';

export const cache: readonly Scenario[] = [...rows, ...million, ...herd, ...get, ...coherence];
