import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOperatorRequest } from '../../../test/support/operator-request.ts'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { CertificateProblem } from '../problem.ts'
import { readCertificateRequest } from './certificate-request.ts'
import { writePem } from './pem.ts'

test('a damaged certificate request is rejected with a problem', async () => {
  const random = createRandom()
  console.log(`seed ${random.seed}`)
  const { csr } = await createOperatorRequest()
  const der = Buffer.from(csr.replaceAll(/-----.*-----|\n/g, ''), 'base64')
  const key = (await readCertificateRequest(csr)).export({ type: 'spki', format: 'der' })

  for (const _round of rounds(500)) {
    const damaged = mutate(random, der)
    try {
      const read = await readCertificateRequest(writePem('CERTIFICATE REQUEST', damaged))
      // What is outside the signed part, such as bytes at the end, changes nothing.
      assert.deepEqual(read.export({ type: 'spki', format: 'der' }), key, damaged.toString('hex'))
    } catch (error) {
      if (!(error instanceof CertificateProblem)) throw error
      assert.equal(error.field, 'binding.csr')
    }
  }
})
