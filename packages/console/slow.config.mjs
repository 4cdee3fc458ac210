import { slow } from '@mortise/jest/slow.mjs';
import config from './jest.config.mjs';

export default slow(config);
