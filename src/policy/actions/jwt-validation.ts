import { JWS_ALGORITHMS } from '../../base/values/jws-algorithms.ts'
import { DYN, listOf as listType, mapOf as mapType, STRING } from '../../cel/index.ts'
import { choice, described, listOf, object, optional, strictTemplate, withDefault } from '../config.ts'
import { literalTemplate } from '../template.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const allowList = object({
  allow_list: described(
    listOf(
      object({ value: described(strictTemplate({ minLength: 1, maxLength: 2048 }), 'compared exactly') }),
      {
        minItems: 1,
        maxItems: 20,
      },
    ),
    'what may be in the token',
  ),
})

const token = object({
  type: described(
    choice('jwt', 'access_token', 'id_token', 'at+jwt', 'it+jwt', 'plain'),
    'at+jwt and it+jwt require that `typ` in the header of the token',
  ),
  method: described(choice('header', 'body'), 'where the token is'),
  name: described(strictTemplate({ minLength: 1, maxLength: 255 }), 'of the header or the field of the body'),
  prefix: described(
    withDefault(strictTemplate({ maxLength: 255 }), literalTemplate(''), ''),
    'what precedes the token, such as "Bearer "',
  ),
})

export const jwtValidation = defineAction({
  type: 'jwt-validation',
  description: 'Admits only requests with valid JSON Web Tokens from an issuer of your choice.',
  example: {
    issuer: { allow_list: [{ value: 'https://login.example.com/' }] },
    audience: { allow_list: [{ value: 'shop' }] },
    http: { tokens: [{ type: 'jwt', method: 'header', name: 'authorization', prefix: 'Bearer ' }] },
    jws: {
      allowed_algorithms: ['RS256'],
      keys: { sources: { additional_jkus: ['https://login.example.com/keys.json'] } },
    },
  },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: () => true,
  config: object({
    issuer: described(allowList, 'whose tokens are accepted'),
    audience: described(optional(allowList), 'one of these has to be in the token'),
    http: described(
      object({
        tokens: described(listOf(token, { minItems: 1, maxItems: 5 }), 'all of them have to be there'),
      }),
      'where the tokens are',
    ),
    jws: described(
      object({
        allowed_algorithms: described(
          listOf(choice(...JWS_ALGORITHMS), { minItems: 1, maxItems: 10, unique: true }),
          'how tokens may be signed',
        ),
        keys: described(
          optional(
            object({
              sources: described(
                optional(
                  object({
                    additional_jkus: described(
                      withDefault(
                        listOf(strictTemplate({ minLength: 1, maxLength: 2048 }), { maxItems: 5 }),
                        [],
                      ),
                      'URLs of key sets; without them the configuration of the issuer names its own',
                    ),
                  }),
                ),
                'where the keys are published',
              ),
              identification: described(
                optional(
                  object({
                    token_claims: described(
                      withDefault(listOf(choice('kid'), { maxItems: 1 }), []),
                      'what names the key',
                    ),
                  }),
                ),
                'how the key of a token is found',
              ),
            }),
          ),
          'the keys that sign tokens',
        ),
      }),
      'how tokens are verified',
    ),
  }),
  results: {
    // Each has header, payload, location, location_property, signature and verified.
    tokens: listType(mapType(STRING, DYN)),
    error: errorResult,
  },
})
