import { parseSshPublicKey } from '../../../certs/index.ts'
import { SshCredential } from '../../../resources/index.ts'
import { crud } from '../../crud/crud.ts'
import { ownerFor } from './owners.ts'

export const sshCredentials = crud(SshCredential, {
  async prepare(record, context) {
    if (context.existing !== undefined) return { record }
    parseSshPublicKey(record.public_key)
    return {
      record: {
        ...record,
        public_key: record.public_key.trim(),
        owner_id: ownerFor(record.owner_id, context),
      },
    }
  },
})
