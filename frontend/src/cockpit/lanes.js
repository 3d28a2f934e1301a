// The names that the history has for devices: "<12 digits of the node>/GPU/0".

/** @param {{node_id?: string | null, resource: string, id: string}} device */
export function laneName(device) {
  return `${(device.node_id ?? "").slice(0, 12)}/${device.resource}/${device.id}`;
}
