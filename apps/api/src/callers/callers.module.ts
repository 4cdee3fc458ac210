import { Global, Module } from '@nestjs/common';

import { AdminKeysController } from './admin-keys.controller.js';
import { Authentication } from './authentication.js';
import { KeyStore } from './key-store.js';
import { KeyVerifier } from './key-verifier.js';

@Global()
@Module({
  controllers: [AdminKeysController],
  providers: [KeyStore, KeyVerifier, Authentication],
  exports: [Authentication],
})
export class CallersModule {}
