import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption } from '../schema/option.ts'

/** Compresses responses for clients that accept it. */
export const Compression = defineModule(
  'compression',
  'Compresses responses.',
  {},
  {
    endpoint: defineEndpointOption({
      name: 'compression',
      field: 'Compression',
      key: 'compression',
      wire: Type.Object({}),
      config: Type.Boolean(),
      flags: [{ name: 'compression', help: 'compress responses' }],
      encode: () => ({}),
      decode: () => true,
      settings: () => ({}),
    }),
  },
)
