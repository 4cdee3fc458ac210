export { aptUnpack, unpackedEnvironment, type UnpackOptions } from './apt.js';
export { DeadlineError, messageOf, StartFailedError } from './errors.js';
export { freePort, releasePort } from './ports.js';
export { findOnPath, isExecutable, run, type Environment, type RunOptions } from './programs.js';
export { directoryMade, directoryRemoved, serverExited, serverStarted } from './reaper-pipe.js';
export { ServerProcess, type Launch } from './server-process.js';
export { until, type UntilOptions } from './until.js';
