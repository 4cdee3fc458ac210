import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { Answers } from './answers.js';
import { Problems } from './problems.decorator.js';
import { isProblemSlug, kindOf, PROBLEM_BASE } from '../problems/catalogue.js';
import { Problem } from '../problems/problem.js';

const slugSchema = z.string().meta({ example: 'lock-timeout' });

const kindSchema = z
  .object({
    type: z.string().describe('The end of the `type`. Programs branch on it.'),
    title: z.string(),
    status: z.int(),
    when: z.string().describe('Markdown, as the other texts are'),
    action: z.string().optional().describe("the client's next step"),
    fields: z.string().optional().describe('the members of the document besides those of RFC 9457'),
  })
  .meta({ id: 'ProblemKind' });

@ApiTags('problems')
@Controller('problems')
export class ProblemsController {
  @Get(':slug')
  @ApiOperation({
    summary: 'Read the meaning of a problem',
    description: `The last segment of its \`type\`: of \`${PROBLEM_BASE}lock-timeout\` it is \`lock-timeout\`.`,
  })
  @Answers(kindSchema, 'When the API answers with the problem, and what to do.')
  @Problems('unknown-route')
  problemKind(@Param('slug', { schema: slugSchema }) slug: string): z.infer<typeof kindSchema> {
    if (!isProblemSlug(slug)) throw new Problem('unknown-route');
    return { type: PROBLEM_BASE + slug, ...kindOf(slug) };
  }
}
