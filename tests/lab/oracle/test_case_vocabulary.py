"""The words of the cases: what the builders rely on."""

from longshore_lab.oracle.case_vocabulary import IMAGES, NODE_NAMES, POD_LABEL_KEYS, POD_LABEL_VALUES


def test_node_names_are_unique_and_not_sorted():
    assert len(set(NODE_NAMES)) == len(NODE_NAMES) == 12
    assert list(NODE_NAMES) != sorted(NODE_NAMES)


def test_every_label_key_has_values():
    assert set(POD_LABEL_KEYS) == set(POD_LABEL_VALUES)


def test_an_image_name_belongs_to_one_image():
    names = [name for image_names, _ in IMAGES for name in image_names]
    assert len(names) == len(set(names))
