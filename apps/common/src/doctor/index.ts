export type { Finding } from './examine.js';
export { examine } from './examine.js';
export type { Guarantees } from './guarantees.js';
export { guaranteesOf, logGuarantees } from './guarantees.js';
