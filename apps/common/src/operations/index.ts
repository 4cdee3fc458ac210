export { Metrics } from './metrics.js';
export { OperationsServer } from './operations-server.js';
