import { join } from 'node:path';
import { describeExamples } from '@mortise/test-kit';

describeExamples(join(import.meta.dirname, '..'));
