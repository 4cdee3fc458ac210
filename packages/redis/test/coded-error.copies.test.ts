/** Errors of another copy of the package: another version, the other module form, or an entry with code of its own. */
import { describe, expect, jest, test } from '@jest/globals';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  ClientClosedError,
  CodedError,
  LeaseLostError,
} from '../src/index.js';

jest.resetModules();
const other = await import('../src/coded-error.js');
const otherArguments = await import('../src/argument-error.js');

describe('an error of another copy', () => {
  test('is an instance of its class and of CodedError, and of no other class', () => {
    expect(other.LeaseLostError).not.toBe(LeaseLostError);
    const error = new other.LeaseLostError('lock "a"');
    expect(error instanceof LeaseLostError).toBe(true);
    expect(error instanceof CodedError).toBe(true);
    expect(error instanceof ClientClosedError).toBe(false);
    expect(new LeaseLostError('lock "a"') instanceof other.LeaseLostError).toBe(true);
  });

  test('is an instance of a class of misuse', () => {
    const error = new otherArguments.ArgumentTypeError('no');
    expect(error instanceof ArgumentTypeError).toBe(true);
    expect(error instanceof ArgumentRangeError).toBe(false);
    expect(error.name).toBe('TypeError');
  });

  test('has the name of its class, also where a bundler renamed the class', () => {
    const Renamed = class a extends CodedError {
      static override readonly className: string = 'GateClosedError';
      readonly code = 'ERR_GATE_CLOSED';
    };
    expect(new Renamed().name).toBe('GateClosedError');
  });
});

test('a class derived by a caller has its own name, and instances of its own only', () => {
  class Derived extends LeaseLostError {}
  expect(new Derived('lock "a"').name).toBe('Derived');
  expect(new Derived('lock "a"') instanceof LeaseLostError).toBe(true);
  expect(new other.LeaseLostError('lock "a"') instanceof Derived).toBe(false);
  expect(new LeaseLostError('lock "a"') instanceof Derived).toBe(false);
});

test.each([null, undefined, 1, 'text', {}, Object.create(null), new Error('plain')])(
  '%p is no instance',
  (value) => {
    expect(value instanceof LeaseLostError).toBe(false);
  },
);
