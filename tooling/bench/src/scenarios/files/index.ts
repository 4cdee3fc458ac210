import type { Scenario } from '../../scenario.js';
import { checkpoint } from './checkpoint.js';
import { memory } from './memory.js';
import { transfer } from './transfer.js';

export const files: readonly Scenario[] = [...transfer, ...memory, ...checkpoint];
