export { boot, bootWith } from './boot.js';
export { describeModule } from './describe-module.js';
export type { ModuleContract, Provided } from './describe-module.js';
