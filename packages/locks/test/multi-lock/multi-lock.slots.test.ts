import { describeAcquire } from './multi-lock-acquire-behaviour.js';
import { describeMultiLock } from './multi-lock-behaviour.js';

const start = (): Promise<string> => Promise.resolve(process.env['MORTISE_TEST_REDIS']!);

describeMultiLock(start);
describeAcquire(start);
