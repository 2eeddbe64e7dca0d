import fastify, { type FastifyInstance, type FastifySchema, type FastifySchemaCompiler } from 'fastify'

type Compiler = FastifySchemaCompiler<FastifySchema>

interface Validate {
  (data: unknown): unknown
  errors?: unknown
}

// Validates the body as sent: no coercion, no defaults, no removal.
const VALIDATION = {
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  allErrors: false,
  strict: false,
  allowUnionTypes: true,
} as const

/** Fastify's own compiler, from an instance that never listens. */
async function startCompiler(): Promise<Compiler> {
  const host = fastify({ ajv: { customOptions: VALIDATION } })
  host.post('/', { schema: { body: { type: 'object' } } }, async () => ({}))
  await host.ready()
  return host.validatorCompiler!
}

let compiler: Promise<Compiler> | undefined
const validators = new WeakMap<object, Validate>()

/**
 * Fastify compiles the schemas of all routes before it is ready, which took most of the server's start-up time. This
 * compiles a schema when its route is first called, and once for all servers of the process.
 */
export function installValidation(http: FastifyInstance): void {
  let compile: Compiler
  http.addHook('onReady', async () => {
    compiler ??= startCompiler()
    compile = await compiler
  })
  http.setValidatorCompiler((route) => {
    // Fastify reads `errors` from the function it was given.
    const validate: Validate = (data) => {
      let validator = validators.get(route.schema as object)
      if (validator === undefined) {
        validator = compile(route) as Validate
        validators.set(route.schema as object, validator)
      }
      const valid = validator(data)
      validate.errors = validator.errors
      return valid
    }
    return validate as ReturnType<Compiler>
  })
}
