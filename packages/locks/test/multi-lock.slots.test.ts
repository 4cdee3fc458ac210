import { describeMultiLock } from './multi-lock-behaviour.js';

describeMultiLock(() => Promise.resolve(process.env['MORTISE_TEST_REDIS']!));
