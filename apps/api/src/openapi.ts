/** The OpenAPI document, made from the routes and their schemas, and a page to read and try it, where `/` leads. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';

import { actorOf } from './callers/actors.js';
import type { Access } from './callers/route-scopes.js';
import { accessOf, isOfDeployment } from './callers/route-scopes.js';
import type { ProblemResponse } from './http/problems.decorator.js';
import { problemResponses } from './http/problems.decorator.js';
import type { ResponseHeader } from './http/response-headers.js';
import { headerRefs, RESPONSE_HEADERS } from './http/response-headers.js';
import { saysWhen } from './http/send-problem.js';
import { addsData } from './limits/adding-routes.js';
import { TAGS } from './openapi-tags.js';
import { CATALOGUE, isProblemSlug, PROBLEM_BASE } from './problems/catalogue.js';
import type { ProblemSlug } from './problems/catalogue.js';

type SchemaObject = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** The name of the security scheme. */
const SCHEME = 'apiKey';
const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;

const problemSchema: SchemaObject = {
  type: 'object',
  description: 'RFC 9457; members beside these differ by type.',
  required: ['type', 'title', 'status', 'instance'],
  properties: {
    type: { type: 'string', format: 'uri', description: `${PROBLEM_BASE}<slug>: what programs branch on` },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: {
      type: 'string',
      description: 'the id of the request, as in the header X-Request-Id and in the logs',
    },
  },
};

function createDocument(app: NestFastifyApplication): OpenAPIObject {
  const builder = new DocumentBuilder();
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const config = builder
    .setOpenAPIVersion('3.1.0')
    .setTitle('Mortise API')
    .setDescription(
      'Locks, queues, messages, files, completion and cached rows on Redis, and a marketplace that uses them.',
    )
    .setVersion('1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/', 'The deployment that serves this document')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', description: 'An API key, mk_<id>_<secret>, or a JSON Web Token' },
      SCHEME,
    )
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (_controller, method) => method,
    standardSchemaConverter: toJsonSchema,
  });
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: problemSchema },
    headers: RESPONSE_HEADERS,
  };
  secure(document);
  return document;
}

/** Adds the scope that each operation needs, and the refusals that come before its own. */
function secure({ paths }: OpenAPIObject): void {
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      const route = [method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1')] as const;
      const access = accessOf(...route);
      operation.security = access === 'public' ? [] : [{ [SCHEME]: access === 'credential' ? [] : [access] }];
      const refusals: ProblemSlug[] = [
        // Every route refuses keys of the query that it doesn't know.
        'invalid-query',
        ...(access === 'public' ? [] : refusalsOf(access, ...route)),
      ];
      const others = refusals.flatMap((slug) => slugsOf(operation, CATALOGUE[slug].status));
      operation.responses = {
        ...operation.responses,
        ...problemResponses([...new Set([...refusals, ...others])]),
      };
      for (const [status, response] of Object.entries(operation.responses)) {
        const slugs = slugsOf(operation, Number(status));
        const general = headerRefs(headersOf(Number(status), slugs, access !== 'public'));
        const described = response as { headers?: Record<string, { $ref: string }> };
        described.headers = { ...described.headers, ...general };
      }
    }
  }
}

/** The headers that do not depend on the route. */
function headersOf(status: number, slugs: readonly ProblemSlug[], isLimited: boolean): ResponseHeader[] {
  return [
    'X-Request-Id',
    ...(isLimited ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
    ...(slugs.some((slug) => saysWhen({ slug, status })) ? (['Retry-After'] as const) : []),
    ...(slugs.includes('unauthenticated') || slugs.includes('scope-missing')
      ? (['WWW-Authenticate'] as const)
      : []),
  ];
}

/** The refusals of callers that a route may answer with. */
function refusalsOf(access: Exclude<Access, 'public'>, method: string, pattern: string): ProblemSlug[] {
  return [
    'unauthenticated',
    ...(access === 'credential' ? [] : (['scope-missing'] as const)),
    ...(actorOf(method, pattern) === 'anybody' ? [] : (['subject-mismatch'] as const)),
    ...(isOfDeployment(pattern) ? (['unknown-route'] as const) : []),
    'foreign-origin',
    'rate-limited',
    ...(addsData(method, pattern) ? (['quota-exceeded'] as const) : []),
    'key-set-unavailable',
  ];
}

/** The problems that an operation has of a status. */
function slugsOf({ responses }: Operation, status: number): ProblemSlug[] {
  const response = responses[status] as Partial<ProblemResponse> | undefined;
  return Object.keys(response?.content?.['application/problem+json']?.examples ?? {}).filter(isProblemSlug);
}

/** zod's own conversion; Nest asks for the dialect of OpenAPI 3.0, which 3.1 dropped. */
function toJsonSchema(
  schema: unknown,
  { schemaType: io }: { schemaType: 'input' | 'output' },
): { schema: unknown; components: Record<string, object> } | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const {
    $schema: _dialect,
    $defs = {},
    ...converted
  } = z.toJSONSchema(schema, { target: 'draft-2020-12', io });
  return { schema: converted, components: $defs };
}

export function serveDocument(app: NestFastifyApplication): void {
  SwaggerModule.setup('docs', app, () => createDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    // Else the page asks a foreign server about the document.
    swaggerOptions: { validatorUrl: null },
  });
  const server = app.getHttpAdapter().getInstance();
  for (const path of ['/', '/v1']) server.get(path, async (_request, reply) => reply.redirect('/docs'));
}
