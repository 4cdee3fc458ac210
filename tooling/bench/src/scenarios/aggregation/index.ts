import type { Scenario } from '../../scenario.js';
import { lines } from './lines.js';

export const aggregation: readonly Scenario[] = [...lines];
