import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const CONFIG = { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'es6' } };

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!specifier.endsWith('.js')) throw error;
    return next(specifier.replace(/js$/, 'ts'), context);
  }
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), CONFIG);
  return { format: 'module', source: code, shortCircuit: true };
}
