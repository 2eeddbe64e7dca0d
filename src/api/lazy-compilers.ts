import fastify, {
  type FastifySchema,
  type FastifySchemaCompiler,
  type FastifySerializerCompiler,
  type FastifyServerOptions,
} from 'fastify'

interface Validate {
  (data: unknown): unknown
  errors?: unknown
}

/**
 * Fastify compiles the schemas of all routes before it is ready, which took most of a server's start. These compile a
 * schema when its route is first called, and one that several routes share only once.
 */
export function createLazyCompilers(ajv: NonNullable<FastifyServerOptions['ajv']>): {
  ready(): Promise<void>
  validator: FastifySchemaCompiler<FastifySchema>
  serializer: FastifySerializerCompiler<FastifySchema>
} {
  // Never listens: it is only asked for the compilers that Fastify would have used.
  const source = fastify({ ajv })
  const schema = { body: { type: 'object' }, response: { 200: { type: 'object' } } }
  source.post('/', { schema }, async () => ({}))
  const validators = new Map<unknown, Validate>()
  const serializers = new Map<unknown, ReturnType<FastifySerializerCompiler<FastifySchema>>>()

  return {
    async ready() {
      await source.ready()
    },
    validator(route) {
      // Fastify reads the complaints of the function that it was given.
      const validate: Validate = (data) => {
        let check = validators.get(route.schema)
        if (check === undefined) {
          check = source.validatorCompiler!(route) as Validate
          validators.set(route.schema, check)
        }
        const fits = check(data)
        validate.errors = check.errors
        return fits
      }
      return validate as ReturnType<FastifySchemaCompiler<FastifySchema>>
    },
    serializer(route) {
      return (data) => {
        let serialize = serializers.get(route.schema)
        if (serialize === undefined) {
          serialize = source.serializerCompiler!(route)
          serializers.set(route.schema, serialize)
        }
        return serialize(data)
      }
    },
  }
}
