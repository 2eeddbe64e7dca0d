import { BOOL, STRING } from '../../cel/index.ts'
import { choice, described, listOf, object, withDefault } from '../config.ts'
import { defineAction } from './define.ts'

const ALGORITHMS = ['gzip', 'deflate', 'br', 'compress'] as const

export const compressResponse = defineAction({
  type: 'compress-response',
  description: 'Compresses responses of textual types for visitors that accept it.',
  example: { algorithms: ['gzip', 'br'] },
  phases: ['on_http_response'],
  config: object({
    algorithms: described(
      withDefault(listOf(choice(...ALGORITHMS), { minItems: 1, unique: true }), [...ALGORITHMS]),
      'what may be used; compress is accepted and never used',
    ),
  }),
  resultName: 'compress',
  results: { already_compressed: BOOL, negotiated_algorithm: STRING },
  emptyResults: ['negotiated_algorithm'],
})
