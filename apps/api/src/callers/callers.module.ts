import { Global, Module } from '@nestjs/common';

import { Audit } from './audit.js';
import { Authentication } from './authentication.js';
import { KeyStore } from './key-store.js';
import { KeyVerifier } from './key-verifier.js';
import { Redaction } from './redaction.js';
import { SessionController } from './session.controller.js';
import { SessionVerifier } from './session-verifier.js';
import { TenantStore } from './tenant-store.js';
import { TokenVerifier } from './token-verifier.js';

@Global()
@Module({
  controllers: [SessionController],
  providers: [
    KeyStore,
    KeyVerifier,
    TenantStore,
    TokenVerifier,
    SessionVerifier,
    Authentication,
    Audit,
    Redaction,
  ],
  exports: [Audit, Authentication, KeyStore, KeyVerifier, Redaction, TenantStore],
})
export class CallersModule {}
