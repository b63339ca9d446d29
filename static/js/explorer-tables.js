// The picture's entities and relationships as tables. Rows are kept and changed in place, so that a
// button keeps the focus while its own row changes.

export class Tables {
  constructor(root) {
    this.entities = root.querySelector("[data-entities]");
    this.relationships = root.querySelector("[data-relationships]");
    this.count = root.querySelector("[data-relationships-count]");
    this.entityRow = root.querySelector("[data-entity-row]").content.firstElementChild;
    this.relationshipRow = root.querySelector("[data-relationship-row]").content.firstElementChild;
    this.rows = new Map();
  }

  show(nodes, edges, { typeOf, topicOf, selected, current }) {
    const near = new Map(nodes.map((node) => [node.id, 0]));
    for (const { a, b } of edges) {
      near.set(a, near.get(a) + 1);
      near.set(b, near.get(b) + 1);
    }
    for (const [id, row] of this.rows) {
      if (near.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    for (const node of nodes) {
      const row = this.rows.get(node.id) ?? this.added(node, typeOf);
      const all = Math.max(node.degree, near.get(node.id));
      cell(row, "topic").textContent = topicOf(node);
      cell(row, "connections").textContent = `${near.get(node.id)} of ${all}`;
      row.querySelector("[data-do=select]").checked = selected.has(node.id);
      row.toggleAttribute("data-current", node.id === current);
    }
    this.showRelationships(nodes, edges);
  }

  added(node, typeOf) {
    const row = this.entityRow.cloneNode(true);
    for (const control of row.querySelectorAll("[data-do]")) control.dataset.entity = node.id;
    row.querySelector("[data-do=open]").textContent = node.name;
    row.querySelector("[data-do=select]").setAttribute("aria-label", `Select ${node.name}`);
    row.querySelector("[data-do=expand]").setAttribute("aria-label", `Expand ${node.name}`);
    row.querySelector("[data-do=collapse]").setAttribute("aria-label", `Collapse ${node.name}`);
    cell(row, "type").append(typeOf(node));
    this.rows.set(node.id, row);
    this.entities.append(row);
    return row;
  }

  showRelationships(nodes, edges) {
    const names = new Map(nodes.map((node) => [node.id, node.name]));
    const rows = edges.map(({ a, b, evidence }) => {
      const row = this.relationshipRow.cloneNode(true);
      cell(row, "a").textContent = names.get(a);
      cell(row, "b").textContent = names.get(b);
      cell(row, "passages").textContent = evidence;
      const button = row.querySelector("[data-do=between]");
      Object.assign(button.dataset, { entity: a, other: b });
      button.setAttribute("aria-label", `Sources for ${names.get(a)} and ${names.get(b)}`);
      return row;
    });
    this.relationships.replaceChildren(...rows);
    this.count.textContent = `Facts in the picture (${edges.length})`;
  }
}

const cell = (row, name) => row.querySelector(`[data-cell=${name}]`);
