import { Discard } from '../errors.js';

/** Ends a job as failed, with the name of its error. */
export class FailedJob extends Discard {
  constructor(reason: string, given: Error) {
    super(reason);
    Object.defineProperty(this, 'name', { value: given?.name ?? 'Error' });
  }
}
