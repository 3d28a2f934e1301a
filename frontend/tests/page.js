// The few parts of a page that drawing uses, counting every change.

class Text {
  nodeType = 3;
  parent = null;
  #value = "";

  get nodeValue() {
    return this.#value;
  }

  set nodeValue(value) {
    this.#value = value;
    Element.changes += 1;
  }

  html() {
    return this.#value.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  get nextSibling() {
    return this.parent.childNodes[this.parent.childNodes.indexOf(this) + 1] ?? null;
  }

  remove() {
    Element.changes += 1;
    this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1);
  }
}

export class Element extends Text {
  static changes = 0;
  nodeType = 1;
  namespaceURI = "";
  childNodes = [];
  attributes = new Map();
  ownerDocument = {
    createTextNode: () => new Text(),
    createElement: (tag) => new Element(tag),
    createElementNS: (space, tag) => Object.assign(new Element(tag), { namespaceURI: space }),
  };

  constructor(tag) {
    super();
    this.tag = tag;
  }

  get firstChild() {
    return this.childNodes[0] ?? null;
  }

  setAttribute(name, value) {
    Element.changes += 1;
    this.attributes.set(name, value);
  }

  removeAttribute(name) {
    Element.changes += 1;
    this.attributes.delete(name);
  }

  insertBefore(node, place) {
    Element.changes += 1;
    if (node.parent) node.parent.childNodes.splice(node.parent.childNodes.indexOf(node), 1);
    node.parent = this;
    const at = place ? this.childNodes.indexOf(place) : this.childNodes.length;
    this.childNodes.splice(at, 0, node);
  }

  html() {
    const inner = this.childNodes.map((node) => node.html()).join("");
    if (!this.parent) return inner;
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${this.tag}${attributes}>${inner}</${this.tag}>`;
  }
}
