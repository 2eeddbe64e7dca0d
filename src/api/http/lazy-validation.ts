import fastify, { type FastifySchema, type FastifySchemaCompiler, type FastifyServerOptions } from 'fastify'

interface Validate {
  (data: unknown): unknown
  errors?: unknown
}

/**
 * Fastify compiles the schemas of all routes before it is ready, which took most of the server's start-up time. This
 * compiles a schema when its route is first called, and a shared schema only once.
 */
export function createLazyValidation(ajv: NonNullable<FastifyServerOptions['ajv']>): {
  ready(): Promise<void>
  compile: FastifySchemaCompiler<FastifySchema>
} {
  // Never listens; it only provides Fastify's own compiler.
  const compilerHost = fastify({ ajv })
  compilerHost.post('/', { schema: { body: { type: 'object' } } }, async () => ({}))
  const validators = new Map<unknown, Validate>()

  return {
    async ready() {
      await compilerHost.ready()
    },
    compile(route) {
      // Fastify reads `errors` from the function it was given.
      const validate: Validate = (data) => {
        let validator = validators.get(route.schema)
        if (validator === undefined) {
          validator = compilerHost.validatorCompiler!(route) as Validate
          validators.set(route.schema, validator)
        }
        const valid = validator(data)
        validate.errors = validator.errors
        return valid
      }
      return validate as ReturnType<FastifySchemaCompiler<FastifySchema>>
    },
  }
}
