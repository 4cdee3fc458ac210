import type { Scenario } from '../../scenario.js';
import { boost } from './boost.js';
import { complete } from './complete.js';
import { million } from './million.js';
import { recent } from './recent.js';
import { words } from './words.js';

export const autocomplete: readonly Scenario[] = [...complete, ...boost, ...million, ...words, ...recent];
