import type { Scenario } from '../../scenario.js';
import { boost } from './boost.js';
import { complete } from './complete.js';
import { load } from './load.js';
import { million } from './million.js';
import { pages } from './pages.js';
import { recent } from './recent.js';
import { words } from './words.js';

export const autocomplete: readonly Scenario[] = [
  ...complete,
  ...boost,
  ...million,
  ...words,
  ...recent,
  ...load,
  ...pages,
];
