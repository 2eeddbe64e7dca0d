import fastify, { type FastifySchema, type FastifySchemaCompiler, type FastifyServerOptions } from 'fastify'

interface Validate {
  (data: unknown): unknown
  errors?: unknown
}

/**
 * Fastify compiles the schemas of all routes before it is ready, which took most of a server's start. This compiles a
 * schema when its route is first called, and one that several routes share only once.
 */
export function createLazyValidation(ajv: NonNullable<FastifyServerOptions['ajv']>): {
  ready(): Promise<void>
  compile: FastifySchemaCompiler<FastifySchema>
} {
  // Never listens: it is only asked for the compiler that Fastify would have used.
  const compilerHost = fastify({ ajv })
  compilerHost.post('/', { schema: { body: { type: 'object' } } }, async () => ({}))
  const validators = new Map<unknown, Validate>()

  return {
    async ready() {
      await compilerHost.ready()
    },
    compile(route) {
      // Fastify reads the complaints of the function that it was given.
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
