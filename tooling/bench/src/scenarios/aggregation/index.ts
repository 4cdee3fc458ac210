import type { Scenario } from '../../scenario.js';
import { lines } from './count-lines.js';

export const aggregation: readonly Scenario[] = [...lines];
