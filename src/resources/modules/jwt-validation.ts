import { JWS_ALGORITHMS } from '../../base/values/jws-algorithms.ts'
import { httpUrl } from '../schema/formats.ts'
import { defineModule } from '../schema/module.ts'
import { choice, described, list, nonEmpty, object, required, text } from '../schema/value.ts'

const allowList = (name: string, minItems: number) =>
  object(
    {
      allow_list: described(
        list(
          object(
            { value: described(required(nonEmpty(2048)), 'The exact value.') },
            { name: `${name} of a token` },
          ),
          { minItems, maxItems: 20 },
        ),
        'The accepted values.',
      ),
    },
    { name: `${name} allow list` },
  )

const token = object(
  {
    type: described(
      choice(['jwt', 'at+jwt', 'it+jwt', 'access_token', 'id_token', 'plain'], 'jwt'),
      'The kind of token. With at+jwt and it+jwt, the header of the token must have the same typ.',
    ),
    method: described(choice(['header', 'body'], 'header'), 'Where the request has the token.'),
    name: described(
      required(nonEmpty(255)),
      'The name of the header, or of the field of a form or JSON body.',
      'Authorization',
    ),
    prefix: described(text(255), 'The text before the token, such as "Bearer ".', 'Bearer '),
  },
  { name: 'expected token' },
)

const signature = object(
  {
    allowed_algorithms: described(
      required(list(choice(JWS_ALGORITHMS, 'RS256'), { minItems: 1, maxItems: 10 })),
      'The algorithms with which tokens may be signed.',
      ['RS256'],
    ),
    keys: described(
      object(
        {
          sources: described(
            object(
              {
                additional_jkus: described(
                  list(httpUrl(2048), { maxItems: 5 }),
                  'URLs of key sets. Without any, those that the issuer announces are used.',
                ),
              },
              { name: 'sources of token keys' },
            ),
            'Where the keys are published.',
          ),
        },
        { name: 'token keys' },
      ),
      'The keys that sign tokens.',
    ),
  },
  { name: 'token signature' },
)

/** Admits only requests with valid JSON Web Tokens. */
export const JwtValidation = defineModule(
  'jwt_validation',
  'Admits only requests with valid JSON Web Tokens from an issuer of your choice.',
  {
    issuer: described(required(allowList('issuer', 1)), 'The issuers whose tokens are accepted.', {
      allow_list: [{ value: 'https://id.example.com' }],
    }),
    audience: described(
      allowList('audience', 0),
      'The token must contain one of these; an empty list accepts any audience.',
    ),
    http: described(
      required(
        object(
          {
            tokens: described(
              required(list(token, { minItems: 1, maxItems: 5 })),
              'The request must contain all of them.',
            ),
          },
          { name: 'tokens of a request' },
        ),
      ),
      'Where the tokens are.',
      { tokens: [{ type: 'jwt', method: 'header', name: 'Authorization', prefix: 'Bearer ' }] },
    ),
    jws: described(required(signature), 'How tokens are verified.', { allowed_algorithms: ['RS256'] }),
  },
)
